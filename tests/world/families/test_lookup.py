"""A chain of look-ups: 5 to 7 steps, no entry twice, and the answer is where the path ends."""


def test_length_and_path(family, play):
    lengths = set()
    for task in family("lookup"):
        trajectory, _ = play(task)
        lengths.add(len(trajectory.steps))
        assert [move.tool for move in task.moves] == ["find"] + ["get_record"] * (len(task.moves) - 1)
        assert [move.requires for move in task.moves] == [(), *((i,) for i in range(len(task.moves) - 1))]
        opened = [call.arguments["key"] for call in task.task.reference.actions[1:]]
        assert len(set(opened)) == len(opened)
        table = task.moves[-1].arguments["table"]
        assert task.world.tables[table][opened[-1]][task.answer_label] == task.truth[task.answer]
    assert lengths <= {4, 5, 6, 7}
    assert len(lengths) > 1


def test_the_query_names_start_path_and_attribute(family):
    for task in family("lookup"):
        relations = [move.learns[0].label for move in task.moves[1:]]
        assert task.truth["name"] in task.task.query
        assert ", ".join(relations[:-1]) in task.task.query
        assert relations[-1] in task.task.query
        assert task.truth[task.answer] not in task.task.query
