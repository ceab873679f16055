// Package cli is what the command lines of lab and governance share: output that cannot drive a terminal
// ([Writer]), and the flags of a command as the tagged fields of a struct ([BindFlags]), so that name, help,
// default and allowed values of an option stand in one place.
//
// The tags of a field are
//
//	flag      the name; a field without it is none
//	usage     the help
//	default   the value where nothing is given, as text; that of the field without the tag
//	values    all values, with commas: the shell is offered them, and Refused finds others
//	min       the least value of a number that is given
//	complete  the name of a list that the program offers to the shell
//	env       the variable that counts where the flag is not given; the help names it
//	split     commas separate the values of a list
//
// Fields are texts, bools, ints, durations and lists of texts; embedded structs have flags, too.
package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Flag is one flag of a command.
type Flag struct {
	Name string
	// Values are all that it takes, none where they are not listed. Complete names a list of
	// the program.
	Values   []string
	Complete string

	variable, source string
	min              *int64
	value            reflect.Value
}

// Flags are the flags of a command.
type Flags struct {
	All     []*Flag
	command *cobra.Command
}

// BindFlags declares the flags of the struct that options points to. It panics on a tag that it
// cannot read: the tests make every command.
func BindFlags(c *cobra.Command, options any) *Flags {
	s := &Flags{command: c}
	s.bind(reflect.ValueOf(options).Elem())
	return s
}

func (s *Flags) bind(v reflect.Value) {
	for field, value := range v.Fields() {
		if field.Anonymous {
			s.bind(value)
			continue
		}
		name := field.Tag.Get("flag")
		if name == "" {
			continue
		}
		usage := field.Tag.Get("usage")
		f := &Flag{Name: name, Complete: field.Tag.Get("complete"), value: value}
		if f.variable = field.Tag.Get("env"); f.variable != "" {
			usage += " [" + f.variable + "]"
		}
		if list := field.Tag.Get("values"); list != "" {
			f.Values = strings.Split(list, ",")
		}
		if text, ok := field.Tag.Lookup("min"); ok {
			least := must(strconv.ParseInt(text, 10, 64))
			f.min = &least
		}
		s.declare(f, field.Tag, usage)
		s.All = append(s.All, f)
	}
}

func (s *Flags) declare(f *Flag, tag reflect.StructTag, usage string) {
	set := s.command.Flags()
	text, given := tag.Lookup("default")
	switch to := f.value.Addr().Interface().(type) {
	case *string:
		if !given {
			text = *to
		}
		set.StringVar(to, f.Name, text, usage)
	case *bool:
		set.BoolVar(to, f.Name, *to, usage)
	case *int:
		if given {
			*to = must(strconv.Atoi(text))
		}
		set.IntVar(to, f.Name, *to, usage)
	case *time.Duration:
		if given {
			*to = must(time.ParseDuration(text))
		}
		set.DurationVar(to, f.Name, *to, usage)
	case *[]string:
		if tag.Get("split") != "" {
			set.StringSliceVar(to, f.Name, *to, usage)
		} else {
			set.StringArrayVar(to, f.Name, *to, usage)
		}
	default:
		panic(fmt.Sprintf("flag %s: a %s cannot be one", f.Name, f.value.Type()))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// ReadEnv gives every flag that is not on the command line the value of its variable, where
// that is set and not empty. Only texts have variables.
func (s *Flags) ReadEnv(env func(string) (string, bool)) {
	for _, f := range s.All {
		if s.command.Flags().Changed(f.Name) {
			f.source = "--" + f.Name
		} else if value, ok := env(f.variable); f.variable != "" && ok && value != "" {
			f.value.SetString(value)
			f.source = f.variable
		}
	}
}

// Source returns what the value of a flag is from, once ReadEnv was called: the flag, the variable, or
// "" for the default.
func (s *Flags) Source(name string) string {
	for _, f := range s.All {
		if f.Name == name {
			return f.source
		}
	}
	return ""
}

// Refused returns the first flag that is given and has none of its values, or too small a number;
// nil where there is none. min is 0 where the values are to blame.
func (s *Flags) Refused() (f *Flag, value string, min int64) {
	for _, f := range s.All {
		given := s.command.Flag(f.Name)
		if !given.Changed {
			continue
		}
		text := given.Value.String()
		if len(f.Values) > 0 && !slices.Contains(f.Values, text) {
			return f, text, 0
		}
		if f.min != nil && f.value.Int() < *f.min {
			return f, text, *f.min
		}
	}
	return nil, "", 0
}
