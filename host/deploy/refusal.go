package deploy

import "fmt"

// Code is why real money may not be traded. The API answers 409 with it.
type Code string

// The codes, in the order in which they are looked for. RegistryUnavailable takes the place of
// all before it when there is neither an answer nor a cached registry that is still valid.
const (
	RegistryInvalid          Code = "REGISTRY_INVALID"
	RegistryUnsigned         Code = "REGISTRY_UNSIGNED"
	RegistrySignatureInvalid Code = "REGISTRY_SIGNATURE_INVALID"
	RegistryFamilyMismatch   Code = "REGISTRY_FAMILY_MISMATCH"
	RegistryExpired          Code = "REGISTRY_EXPIRED"
	RegistryRollback         Code = "REGISTRY_ROLLBACK"
	RegistryUnavailable      Code = "REGISTRY_UNAVAILABLE"

	DeploymentNotApproved    Code = "DEPLOYMENT_NOT_APPROVED"
	DeploymentRevoked        Code = "DEPLOYMENT_REVOKED"
	DeploymentExpired        Code = "DEPLOYMENT_EXPIRED"
	DeploymentModeNotAllowed Code = "DEPLOYMENT_MODE_NOT_ALLOWED"
	DeploymentLimitExceeded  Code = "DEPLOYMENT_LIMIT_EXCEEDED"
)

// The codes of notices that are no refusals.
const (
	// DeploymentSuspended: the run may only shrink its positions.
	DeploymentSuspended Code = "DEPLOYMENT_SUSPENDED"
	// RegistryNotKept: the highest version seen could not be written to disk.
	RegistryNotKept Code = "REGISTRY_NOT_KEPT"
)

// Codes are the codes of refusals.
func Codes() []Code {
	return []Code{
		RegistryInvalid, RegistryUnsigned, RegistrySignatureInvalid, RegistryFamilyMismatch, RegistryExpired, RegistryRollback, RegistryUnavailable,
		DeploymentNotApproved, DeploymentRevoked, DeploymentExpired, DeploymentModeNotAllowed, DeploymentLimitExceeded,
	}
}

// Refusal is an answer of no. Its message ends with what to do.
type Refusal struct {
	Code    Code
	Message string
	// Details go into the API's answer: family, registry_version, highest_version,
	// expires_at, plugin_sha256, params_sha256, deployable_id, candidate_revision_id, reason.
	Details map[string]any
	Cause   error
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

// Unwrap is the cause, nil where there is none.
func (r *Refusal) Unwrap() error { return r.Cause }

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...), Details: map[string]any{}}
}

// with adds one member to the details.
func (r *Refusal) with(key string, value any) *Refusal {
	r.Details[key] = value
	return r
}

// Notice is something to tell people, by code.
type Notice struct {
	Code    Code
	Message string
}

func notice(r *Refusal) Notice { return Notice{r.Code, r.Message} }
