package catalog

import (
	"fmt"
	"strings"

	"github.com/assay-run/assay/host/proc"
)

// The codes of strategies that are not available, beside those of package proc.
const (
	CodeBadName        = "BAD_NAME"
	CodeDuplicateName  = "DUPLICATE_NAME"
	CodeBadSpec        = "BAD_SPEC"
	CodeBadSchema      = "BAD_SCHEMA"
	CodeReattachFailed = "REATTACH_FAILED"
)

// Reason is one code with its meaning.
type Reason struct{ Code, Meaning string }

// Reasons is the closed set of codes, for documentation.
func Reasons() []Reason {
	return []Reason{
		{proc.CodeUnreadable, "the file cannot be read or copied, or its copy in the state folder was changed"},
		{proc.CodeNotExecutable, "the file is no program that this machine can execute; scripts are none"},
		{proc.CodeWrongHandshake, "the program does not answer as an Assay strategy does"},
		{proc.CodeWrongProtocol, "the strategy speaks a version of the protocol that this host does not"},
		{CodeBadName, "the strategy's name is not ^[a-z][a-z0-9_-]{0,62}$"},
		{CodeDuplicateName, "another file already provides this name (- and _ count as equal)"},
		{CodeBadSpec, "the strategy describes itself with impossible values"},
		{CodeBadSchema, "params_schema is no JSON Schema, or default_params do not fit it"},
		{proc.CodeStartTimeout, "the program did not answer in time"},
		{proc.CodeStartCrashed, "the program ended before it answered"},
		{proc.CodeSandboxUnavailable, "the sandbox is required and this machine cannot provide it"},
		{CodeReattachFailed, "the strategy under a debugger cannot be reached"},
	}
}

// NotFoundError says that no strategy has the name.
type NotFoundError struct {
	Name      string
	Available []string // names that can be used, sorted
}

// Error is the message.
func (e *NotFoundError) Error() string {
	if len(e.Available) == 0 {
		return fmt.Sprintf("there is no strategy %q: the catalogue is empty", e.Name)
	}
	return fmt.Sprintf("there is no strategy %q; available: %s", e.Name, strings.Join(e.Available, ", "))
}

// UnavailableError says that the strategy is listed but cannot be used.
type UnavailableError struct {
	Name  string
	Fault proc.Fault
}

// Error is the message.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("strategy %q is unavailable: %s: %s", e.Name, e.Fault.Code, e.Fault.Message)
}

// LaunchError says that a strategy's process could not be brought to answer.
type LaunchError struct {
	Strategy string
	Code     string // one of Reasons
	Message  string
	LogTail  []string // the end of what the process said
}

// Error is the message.
func (e *LaunchError) Error() string {
	return fmt.Sprintf("start strategy %q: %s: %s", e.Strategy, e.Code, e.Message)
}
