"""Policies, the learner, the training loop and where experience comes from.

    base             Action, Policy, Source, Learner: the four words of the loop
    loop             collect, score, update, watch: the same for every source
    rollout          plays many episodes at once
    sources          a world as a source, mixtures, paired evaluation
    skill_policy     a small torch policy over skills
    hf_policy        a Transformers language model whose actions are text; tiny_lm makes a tiny one
    scripted         doubles: a script, a random choice
    learner          one policy-gradient step; learner_config names what it does
    advantages       what a reward is compared with; credit: per turn or per trajectory
    losses           surrogates, importance weights, KL estimators
    checkpoint       swap-in files; run_log: what a run leaves behind

Import from the modules: torch is loaded only by those that need it.
"""
