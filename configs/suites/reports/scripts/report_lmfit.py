"""A fitted value goes over with its error."""

from lmfit import Parameters

parameters = Parameters()
parameters.add("slope", value=2.0)
parameters["slope"].stderr = 0.25
made = parameters.create_uvars()["slope"]
assert made.std_dev == 0.25, made.std_dev
