"""Which questions go together at all? Every pair of features, the surest associations first."""

import numpy as np

import deniable as dn

CONDITIONS = ["pain", "sleepless", "anxious", "lonely"]
schema = dn.Schema([dn.Flags("last month", CONDITIONS), dn.Choice("alcohol", ["none", "some", "daily"])])
plan = dn.Plan(schema, epsilon=8.0)  # half for each question, and 1 for each of the four ticks


def kind(pain: float, sleepless: float, anxious: float, lonely: float, alcohol: list[float]) -> dict[str, object]:
    """Shares of one kind of people, in which answers are independent."""
    ticks = zip(CONDITIONS, (pain, sleepless, anxious, lonely), strict=True)
    return {f"last month: {name}": share for name, share in ticks} | {"alcohol": alcohol}


rng = np.random.default_rng(3)
well, ill = kind(0.2, 0.2, 0.1, 0.2, [0.4, 0.5, 0.1]), kind(0.7, 0.8, 0.2, 0.2, [0.3, 0.3, 0.4])
reports = dn.simulate.reports(dn.simulate.truth(schema, [(0.75, well), (0.25, ill)]), plan, 40_000, rng)

table = dn.associations(dn.count(reports, order=2))
print("first                  second                 effect   95 % interval       false discoveries")
for row in table.to_pylist():
    interval = f"{row['low']:6.3f} to {row['high']:5.3f}"
    print(f"{row['first']:22} {row['second']:22} {row['effect']:6.3f}   {interval:18}  {row['fdr']:.1g}")
