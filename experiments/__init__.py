"""Everything wired together: studies, the hack lab, the demo, reports.

demo        the main job in one command
training    one training run from options
mismatch/   how far simulation is from production, and whose doing it is
hack_lab    a flawed reward, a policy that learns to exploit it, and what notices
detecting   detectors over recorded sessions; replaying: what a log can answer
report      one HTML file from a run's records; tables: the same rows for the terminal
"""
