"""A class of the script is the type of an argument."""

from jsonargparse import ActionConfigFile, ArgumentParser


class Pump:
    def __init__(self, speed: int, depth: int):
        self.speed = speed
        self.depth = depth


parser = ArgumentParser()
parser.add_argument("--pump", type=Pump)
parser.add_argument("--config", action=ActionConfigFile)
found = parser.parse_args(["--pump=__main__.Pump", "--pump.speed=1", "--pump.depth=2"])
print(parser.instantiate_classes(found).pump.depth)
