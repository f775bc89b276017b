"""What a report has to say, gathered from a fitted model: numbers and texts, no markup."""
