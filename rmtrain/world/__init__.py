"""A small simulated tool world whose true values are known, so that a reward model can be checked against them.

Tasks, tools, scripted policies and simulated annotators, all deterministic by seed. The world knows what
is right by its own bookkeeping and never through `rmtrain.verifiers`.
"""
