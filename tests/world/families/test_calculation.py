"""Two entries' numbers, multiplied and added: 6 steps, the total worked out anew here."""

import re


def test_the_total_is_the_sum_of_products(family, play):
    for task in family("calculation"):
        trajectory, _ = play(task)
        assert len(trajectory.steps) == 6
        table = task.moves[0].arguments["table"]
        numbers = []
        for name in (task.truth["first"], task.truth["second"]):
            record = task.world.tables[table][task.world.names[table][name]]
            numbers.append(int(record[task.moves[1].learns[0].field]))
        n, m = map(int, re.findall(r"(\d) \*", task.moves[-1].arguments["expression"]))
        assert int(trajectory.answer) == n * numbers[0] + m * numbers[1]
        assert str(n) in task.task.query
        assert str(m) in task.task.query
        assert task.moves[-1].requires == (1, 3)


def test_wrong_expressions_and_answers_are_wrong(family):
    for task in family("calculation"):
        right = task.task.reference.actions[-1].arguments["expression"]
        assert task.moves[-1].others
        assert right not in task.moves[-1].others
        assert task.truth["total"] not in task.wrong_answers
