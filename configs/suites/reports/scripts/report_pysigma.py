"""A condition takes one selection and not another."""

from sigma.conditions import SigmaCondition
from sigma.rule.detection import SigmaDetection, SigmaDetections

detections = SigmaDetections(
    detections={
        "wanted": SigmaDetection.from_definition({"colour": "red"}),
        "unwanted": SigmaDetection.from_definition({"colour": "blue"}),
    },
    condition=["wanted and not unwanted"],
)
print(SigmaCondition("wanted and not unwanted", detections).parsed)
