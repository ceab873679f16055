package market

import (
	"bytes"
	"encoding/json"
)

// Field is a key and its value on a log line.
type Field struct{ Key, Value string }

// Fields are the keys and values of a log line in the order in which they were given. Each
// key is there once.
type Fields []Field

// Get is the value of a key, "" where it is not there.
func (f Fields) Get(key string) string {
	for _, one := range f {
		if one.Key == key {
			return one.Value
		}
	}
	return ""
}

// Set is the fields with a value for a key: in its old place, or at the end.
func (f Fields) Set(key, value string) Fields {
	for i := range f {
		if f[i].Key == key {
			f[i].Value = value
			return f
		}
	}
	return append(f, Field{key, value})
}

// MarshalJSON is an object with the members in the order of the fields.
func (f Fields) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, one := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(one.Key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one.Value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
