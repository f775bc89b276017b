"""The one loop: which stage comes next, and when it ends."""

from hardbayes.core.loop import alternate


def walk(changes, max_steps):
    """Go through stages that change something so often; return who had a turn, and the end."""
    left, turns = dict(changes), []

    def stage(name):
        def run():
            turns.append(name)
            left[name] -= 1
            return left[name] >= 0

        return run

    ended = alternate([stage(name) for name in changes], lambda: len(turns) < max_steps)
    return "".join(turns), ended


def test_begins_again_with_the_first_as_long_as_a_stage_changes_anything():
    assert walk({"a": 2, "b": 1, "c": 0}, 100) == ("aaababc", True)


def test_ends_when_nothing_changes_at_the_last_step():
    assert walk({"a": 0, "b": 0}, 2) == ("ab", True)


def test_stops_before_a_stage_when_it_may_not_go_on():
    assert walk({"a": 5, "b": 1}, 3) == ("aaa", False)
    assert walk({"a": 0, "b": 0}, 1) == ("a", False)
