from tests.support.fleets import place

__all__ = ("place",)
