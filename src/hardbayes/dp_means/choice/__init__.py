"""Choosing the number of clusters around centres, and a penalty for it.

`automatic` goes through these in turn:

- `sampling`, `rounding`, `narrowing`: a sample of the rows, round numbers noticed, and many columns
  projected to a few;
- `tracing`: the path of its solutions, and how wide the plateau of each number is;
- `references`, `reference_paths`: how wide plateaus are in data without structure;
- `held_out`, `within`, `valleys`: whether rows that had no part in finding clusters thin out
  between them;
- `choice`: the rule that weighs both; `evidence`: what is told about it;
- `repricing`: penalties, where the path had other costs than the fit.

`farthest_first` is the papers' rule, for a number of clusters that is given.
"""
