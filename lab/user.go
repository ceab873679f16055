package lab

import (
	"context"
	"os/exec"
	"os/user"
	"strings"
	"time"

	"github.com/assay-run/assay/lab/cli"
)

// gitTime is how long git may take to say who somebody is.
const gitTime = 5 * time.Second

// user is who uses the command line: by the environment, by the system's list of users, or
// by git, as in a container where the first two know nobody; "" where none of them says.
func (a *app) user() string {
	if name := cli.FirstOf(a.IO.Getenv("USER"), a.IO.Getenv("USERNAME")); name != "" {
		return name
	}
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return cli.FirstOf(gitSays("user.name"), gitSays("user.email"))
}

func gitSays(key string) string {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "config", "--get", key).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
