package request

// The codes of errors that other packages make or look for, too.
const (
	// RunNotFound: no run of that name can be used.
	RunNotFound = "RUN_NOT_FOUND"
	// ConfigInvalid: lab.json, or what it leads to.
	ConfigInvalid = "LAB_JSON_INVALID"
	// ParamsInvalid: the strategy does not take these parameters.
	ParamsInvalid = "PARAMS_INVALID"
	// InputsMissing: what a stored request was answered with is not there any more.
	InputsMissing = "INPUTS_MISSING"
	// RunFailed: the plugin failed, or stopped.
	RunFailed = "RUN_FAILED"
	// ArtifactMismatch: a file is not what was written.
	ArtifactMismatch = "ARTIFACT_MISMATCH"
)
