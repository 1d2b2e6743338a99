from tests.support.probes import probe

__all__ = ("probe",)
