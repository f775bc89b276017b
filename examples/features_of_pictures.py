"""
Overlapping features of pictures
================================

Four dice without a base, four objects on a table.

The penalty is chosen automatically. Plots need matplotlib; the printed results do not.
"""

from hardbayes import BPMeans
from hardbayes.datasets import make_dice, make_tabletop

PICTURES = {"dice": (make_dice, (14, 14)), "tabletop": (make_tabletop, (24, 32))}

for name, (make, shape) in PICTURES.items():
    X, truth = make(random_state=0)
    model = BPMeans(random_state=0).fit(X)
    counts = ", ".join(str(count) for count in model.membership_.sum(axis=0))
    print(f"{name}: {model.n_components_} features at a penalty of {model.component_penalty_:.3g}")
    print(f"  in {counts} of {len(X)} pictures; objective {model.objective_:.4g}")
    try:
        from hardbayes.plot import ComponentsDisplay

        display = ComponentsDisplay.from_estimator(model, X, image_shape=shape)
    except ImportError as error:
        print(f"  {error}")
    else:
        display.figure_.savefig(f"{name}.png", dpi=100)
