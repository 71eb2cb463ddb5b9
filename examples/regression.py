"""What does it depend on, all else equal? A linear probability model on private answers."""

import numpy as np

import deniable as dn

schema = dn.Schema([dn.Flag("burnt out"), dn.Flag("night shifts"), dn.Choice("team", ["small", "medium", "large"])])
plan = dn.Plan(schema, epsilon=6.0)

# Night shifts are commoner in large teams, and both matter: 0.15 + 0.20 nights + 0.00 / 0.05 / 0.15 by team.
rng = np.random.default_rng(6)
team = rng.choice(3, 50_000, p=[0.3, 0.4, 0.3])
nights = rng.random(50_000) < np.array([0.1, 0.3, 0.5])[team]
burnt_out = rng.random(50_000) < 0.15 + 0.20 * nights + np.array([0.0, 0.05, 0.15])[team]
answers = {"burnt out": burnt_out, "night shifts": nights, "team": np.array(["small", "medium", "large"])[team]}
counts = dn.count(dn.randomize(answers, plan, rng=rng), ["burnt out", "night shifts", "team"])

print("term           coefficient   95 % interval      p")
for row in dn.regress(counts, "burnt out", on=["night shifts", "team"]).table().to_pylist():
    print(
        f"{row['term']:14} {row['coefficient']:+11.3f}   {row['low']:+.3f} to {row['high']:+.3f}   {row['p_value']:.1g}"
    )
