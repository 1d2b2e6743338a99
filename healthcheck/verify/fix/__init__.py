"""Repairs of a submission's working copy: the exact edits of findings, shown as a diff, then applied.

    wanted = repairs(ledger)
    proposal = propose(wanted, files(submission, wanted))
    print(diff(proposal.changes))
    apply(submission.root, proposal.changes)

Nothing is committed: `read_submission(root, pending=True)` reads the commit with the repaired files in it.
"""

from healthcheck.verify.fix.edits import Change, Proposal, Repair, apply, diff, propose
from healthcheck.verify.fix.repairs import already_made, files, left_alone, repairable, repairs

__all__ = [
    "Change",
    "Proposal",
    "Repair",
    "already_made",
    "apply",
    "diff",
    "files",
    "left_alone",
    "propose",
    "repairable",
    "repairs",
]
