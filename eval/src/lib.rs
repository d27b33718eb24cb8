//! Tasks, the reference run, scorers and the bench: how a gist is judged.
