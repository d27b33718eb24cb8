"""An action that fails sends an event first, which is to be handled before the failure leaves."""

from statemachine import State, StateMachine


class Job(StateMachine):
    waiting = State(initial=True)
    done = State(final=True)
    broken = State()

    run = waiting.to(done, on="work")
    fail = waiting.to(broken)

    def work(self):
        try:
            raise OSError("no paper")
        except OSError:
            self.fail()
            raise


job = Job()
try:
    job.run()
except OSError as error:
    print(error)
assert job.current_state.id == "broken", job.current_state.id
