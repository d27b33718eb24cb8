//! Chooses the changes of the next slice, if a gist differs from the original.

use graph::{Adjustments, Gist, Place, Plan, Trace};

use super::{
    Probed, Restore, SliceRequest,
    difference::{Difference, DifferenceKind},
    mend,
    mend::add,
};
use crate::execute::Raised;

/// The inputs of an advice.
#[derive(Clone, Copy)]
pub struct AdviceInput<'a> {
    /// The run of the original.
    pub trace: &'a Trace,
    /// The plan of the slice.
    pub plan: &'a Plan,
    /// The gist that was executed.
    pub gist: &'a Gist,
    /// Its path.
    pub gist_path: &'a str,
    /// The text that ran in the gist's place, where it was another one.
    pub probed: Option<&'a Probed>,
    /// Modules from outside to load before the tests, as the original does.
    pub early: &'a [String],
    /// The request behind the slice.
    pub request: &'a SliceRequest,
    /// Executed statements that the slice drops, nearest to the command first; called if nothing
    /// else is known.
    pub left_out: &'a dyn Fn(&SliceRequest) -> Vec<Place>,
}

impl std::fmt::Debug for AdviceInput<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdviceInput").field("request", self.request).finish_non_exhaustive()
    }
}

/// Returns the request for the next slice after a gist that differs, or `None` if no change is
/// likely to help.
///
/// The advice tries these in order, until one changes the request:
///
/// 1. the names in the error message or in the ids of missing tests; if they name nothing, the
///    dropped side effects
/// 2. the errors that the gist itself caught, which `caught` observes
/// 3. docstrings that code uses as data, that of the error from outside included
/// 4. the innermost function on the traceback, then hooks, then the functions around it
/// 5. errors that the original caught as well
/// 6. a ladder of steps, each more conservative than the last request, so that the search ends
///
/// If the gist misses a file that it replaces, a statement that is there for its effect alone and needs the file is left
/// out. If there is none, and effects are back already, there is no advice.
///
/// # Errors
/// Those of `caught`.
pub fn advise<E>(
    difference: &Difference,
    attempt: &AdviceInput<'_>,
    caught: impl FnOnce() -> Result<Vec<Raised>, E>,
) -> Result<Option<SliceRequest>, E> {
    let request = attempt.request;
    if request.restore.is_active() {
        return Ok(Some(restoring(request, false, &(attempt.left_out)(request))));
    }
    let mut next = request.clone();
    // One run tries `first_use`; the next advice takes it back if the gist still differs.
    match (request.adjustments.first_use, request.timed) {
        (false, false) if attempt.plan.late => {
            (next.adjustments.first_use, next.timed) = (true, true);
            return Ok(Some(next));
        }
        (true, _) => next.adjustments.first_use = false,
        _ => {}
    }
    let request = &next.clone();
    let attempt = &AdviceInput { request, ..*attempt };
    for module in attempt.early {
        add(&mut next.adjustments.imports, module.clone());
    }
    if let Some(raised) = &difference.raised {
        mend::named(raised, attempt, &mut next.adjustments);
        mend::shown(raised, attempt, &mut next.adjustments);
        mend::read(raised, attempt, &mut next.adjustments);
    }
    next.adjustments.quiet |= mend::shows_deprecations(difference);
    let is_missing = difference.what == DifferenceKind::Missing;
    for case in difference.case.iter().chain(&difference.more).filter(|_| is_missing) {
        // An example of a docstring may be skipped, and still is a case.
        let object = case.rsplit("::").next().unwrap_or_default();
        for name in object.split('.').filter(|name| !name.is_empty()) {
            mend::keep_binders(attempt, name, &mut next.adjustments);
        }
        mend::made_of(case, attempt, &mut next.adjustments);
        mend::made_for(case, attempt, &mut next.adjustments);
    }
    // One file has one set of future imports: what shows of annotations may be of the other kind.
    if next == *request && attempt.plan.mixed && !request.adjustments.apart {
        next.adjustments.apart = true;
        return Ok(Some(next));
    }
    // What was left out for being thought of no effect comes back before anything that is found by a run of its
    // own or a guess at a time.
    let careful = request.adjustments.impure && request.adjustments.side_effects;
    let is_replaced = |raised: &Raised| mend::asks_for_replaced_files(raised, attempt);
    if let Some(raised) = difference.raised.as_ref().filter(|raised| is_replaced(raised)) {
        // No slice restores a file. A statement that is there for its effect, and needs the file, may go.
        mend::leave_effect_out(raised, attempt, &mut next.adjustments);
        if careful || next != *request {
            return Ok((next != *request).then_some(next));
        }
    }
    if next == *request && careful {
        // What the original caught in the same place is asked when all others have been.
        let heard = if request.listened { Vec::new() } else { caught()? };
        let (known, new): (Vec<Raised>, Vec<Raised>) =
            heard.into_iter().partition(|raised| mend::is_known(raised, attempt));
        for raised in new {
            mend::named(&raised, attempt, &mut next.adjustments);
        }
        if next == *request
            && (mend::made_of_docstrings(attempt)
                || difference
                    .raised
                    .as_ref()
                    .is_some_and(|raised| mend::minds_docstrings(raised, attempt)))
        {
            next.adjustments.docstrings = true;
        }
        if next == *request
            && let Some(raised) = &difference.raised
        {
            mend::placed(raised, attempt, &mut next);
        }
        if next == *request {
            known.iter().for_each(|raised| mend::named(raised, attempt, &mut next.adjustments));
        }
    }
    let is_stuck = next == *request;
    let more = !is_stuck || climb(difference, attempt, &mut next);
    // From here on the gist only gets longer: it catches what it caught.
    next.listened |= is_stuck && careful;
    Ok(more.then_some(next))
}

/// The next step of a search for statements that have to come back, after the run of one; at its end a slice that has
/// those that it found.
pub(crate) fn restoring(request: &SliceRequest, agrees: bool, order: &[Place]) -> SliceRequest {
    let mut next = request.clone();
    if let Some(restore) = request.restore.next(agrees, order) {
        next.restore = restore;
        return next;
    }
    let (over, found) = request.restore.ended(agrees, order);
    next.refine |= over.enough.is_some();
    next.restore = over;
    found.into_iter().for_each(|place| add(&mut next.adjustments.keep, place));
    next
}

/// The next rung of the ladder; whether there is one.
fn climb(difference: &Difference, attempt: &AdviceInput<'_>, next: &mut SliceRequest) -> bool {
    let shows = difference.is_of_text() || mend::shows_name(difference, attempt);
    let adjustments = &mut next.adjustments;
    if !adjustments.impure || !adjustments.side_effects {
        adjustments.impure = true;
        adjustments.side_effects = true;
    } else if !adjustments.outside {
        adjustments.outside = true;
    } else if !adjustments.hooks && graph::ran_hooks(attempt.trace) {
        adjustments.hooks = true;
    } else if shows && !adjustments.module_names {
        adjustments.module_names = true;
    } else if shows && !adjustments.docstrings {
        adjustments.docstrings = true;
    } else if attempt.probed.is_some() && !next.unprobed {
        next.unprobed = true;
    } else {
        return climb_on(attempt, next);
    }
    true
}

/// The last rungs: hardly anything is left to hope for, and each costs a run.
fn climb_on(attempt: &AdviceInput<'_>, next: &mut SliceRequest) -> bool {
    // The output does not show a `__name__` that code compares or looks up.
    if !next.adjustments.module_names && attempt.gist.text.contains("__name__") {
        next.adjustments.module_names = true;
        return true;
    }
    // Neither does it show a `__module__` that code compares.
    if next.adjustments.homes.is_empty()
        && mend::request_function_modules(attempt, &mut next.adjustments)
    {
        return true;
    }
    if next.restore == Restore::default()
        && let Some(restore) = Restore::begun((attempt.left_out)(next).len())
    {
        next.restore = restore;
        return true;
    }
    if next.refine {
        next.refine = false;
        return true;
    }
    let Adjustments { docstrings, conditions, annotations, .. } = &mut next.adjustments;
    let is_last = *docstrings && *conditions && *annotations;
    (*docstrings, *conditions, *annotations) = (true, true, true);
    !is_last
}
