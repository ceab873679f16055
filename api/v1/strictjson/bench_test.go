package strictjson

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkWorst reads a megabyte of what is dear to read.
func BenchmarkWorst(b *testing.B) {
	var keys strings.Builder
	keys.WriteString(`{"a":0`)
	for i := 0; keys.Len() < 1<<20-16; i++ {
		fmt.Fprintf(&keys, `,"%x":0`, i+16)
	}
	nest := strings.Repeat("[", 60) + strings.Repeat("]", 60) + ","
	for name, text := range map[string]string{
		"keys":    keys.String() + "}",
		"numbers": "[" + strings.Repeat("1,", 1<<19-2) + "1]",
		"nesting": "[" + strings.Repeat(nest, 1<<20/len(nest)-1) + "0]",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
