"""Text for spreadsheets, which take some of it for formulas."""

# A spreadsheet takes text that begins with these for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(cell: str) -> str:
    """Return text that a spreadsheet shows as it is: in front of formulas goes an apostrophe."""
    if not cell.startswith(FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell  # a number
