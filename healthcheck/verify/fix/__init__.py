"""Safe one-line repairs of a submission's working copy: proposed, shown as a diff, then applied.

    repairs = proposals(submission, plan, results)
    print(diff(repairs))
    apply(submission.root, repairs)

Nothing is committed: `read_submission(root, pending=True)` reads the commit with the repaired files in it.
"""

from healthcheck.verify.fix.edits import Edit, Repair, apply, diff
from healthcheck.verify.fix.repairs import already_made, left_alone, proposals, repairable

__all__ = ["Edit", "Repair", "already_made", "apply", "diff", "left_alone", "proposals", "repairable"]
