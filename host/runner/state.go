package runner

// state is where the runner stands. Stopping is a run that has been told to end: to
// the outside it is still running.
type state uint8

const (
	idle state = iota
	running
	stopping
	completed
	failed
	numStates
)

// The statuses as they are shown.
const (
	StatusIdle      = "idle"
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
)

// status is the name that the outside sees.
func (s state) status() string {
	return [numStates]string{StatusIdle, StatusRunning, StatusRunning, StatusCompleted, StatusFailed}[s]
}

// event is what can happen to the runner.
type event uint8

const (
	start        event = iota // a valid request; the plugin is launched and the row is written
	replace                   // the same, in the place of the run that is named and has ended
	launchFailed              // the plugin could not be launched
	stop                      // a client wants the run to end
	shutdown                  // the service ends
	reset                     // a client wants to forget the run
	dataEnd                   // the execution came to the end of its data
	stopped                   // the execution ended because it was told to
	withdrawn                 // the execution ended because it may not go on
	fault                     // the execution failed, or its files could not be written
	interrupted               // a run that a crash of the service cut short is found at the next start
	readResults               // a client wants the results
	numEvents
)

// transition is the next state, or why there is none.
type transition struct {
	to     state
	refuse Code
}

func goTo(s state) transition  { return transition{to: s} }
func refuse(c Code) transition { return transition{refuse: c} }

// transitions says for every state and event what follows.
var transitions = [numStates][numEvents]transition{
	idle: {
		start:        goTo(running),
		replace:      goTo(running),
		launchFailed: refuse(RunStartFailed),
		stop:         refuse(RunNotActive),
		shutdown:     goTo(idle),
		reset:        goTo(idle),
		dataEnd:      refuse(Internal),
		stopped:      refuse(Internal),
		withdrawn:    refuse(Internal),
		fault:        refuse(Internal),
		interrupted:  goTo(failed),
		readResults:  refuse(NoRun),
	},
	running: {
		start:        refuse(RunAlreadyActive),
		replace:      refuse(RunAlreadyActive),
		launchFailed: refuse(Internal),
		stop:         goTo(stopping),
		shutdown:     goTo(stopping),
		reset:        refuse(RunStillRunning),
		dataEnd:      goTo(completed),
		stopped:      refuse(Internal),
		withdrawn:    goTo(completed),
		fault:        goTo(failed),
		interrupted:  refuse(Internal),
		readResults:  refuse(ResultsNotReady),
	},
	stopping: {
		start:        refuse(RunAlreadyActive),
		replace:      refuse(RunAlreadyActive),
		launchFailed: refuse(Internal),
		stop:         goTo(stopping),
		shutdown:     goTo(stopping),
		reset:        refuse(RunStillRunning),
		dataEnd:      goTo(completed), // the end was faster than the stop
		stopped:      goTo(completed),
		withdrawn:    goTo(completed),
		fault:        goTo(failed),
		interrupted:  refuse(Internal),
		readResults:  refuse(ResultsNotReady),
	},
	completed: {
		start:        refuse(RunAlreadyActive),
		replace:      goTo(running),
		launchFailed: refuse(RunStartFailed),
		stop:         refuse(RunNotActive),
		shutdown:     goTo(completed),
		reset:        goTo(idle),
		dataEnd:      refuse(Internal),
		stopped:      refuse(Internal),
		withdrawn:    refuse(Internal),
		fault:        refuse(Internal),
		interrupted:  refuse(Internal),
		readResults:  goTo(completed),
	},
	failed: {
		start:        refuse(RunAlreadyActive),
		replace:      goTo(running),
		launchFailed: refuse(RunStartFailed),
		stop:         refuse(RunNotActive),
		shutdown:     goTo(failed),
		reset:        goTo(idle),
		dataEnd:      refuse(Internal),
		stopped:      refuse(Internal),
		withdrawn:    refuse(Internal),
		fault:        refuse(Internal),
		interrupted:  refuse(Internal),
		readResults:  goTo(failed),
	},
}
