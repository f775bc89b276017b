"""Choosing the number of clusters around centres, and a penalty for it.

`automatic` goes through these in turn:

- `sample`: rows to choose on. Round numbers, categories and spikes are made continuous there
  (`core.discrete`), and many columns are projected to a few;
- `path`: the path of its solutions, how wide the plateau of each number is, and how wide plateaus
  are in data without structure;
- `held_out`: clusters of one half of the rows, and rows of the other half on their borders;
- `rule`: whether rows thin out there, and the rule that weighs both kinds of evidence.

It ends with penalties, where the path had other costs than the fit, and with what is told.
`farthest_first` is the papers' rule, for a number of clusters that is given.
"""
