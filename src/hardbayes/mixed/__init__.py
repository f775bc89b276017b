"""Clusters of tables of numbers, grades, yes and no, categories, dates and missing cells."""
