package order

import (
	"regexp"
	"testing"
)

func TestClientID(t *testing.T) {
	const run = "svc_01jd2q7z9v8k3m6t4r1x5c0wbn"
	if got := ClientID(run, 1); got != "aso4iqles1kfl9am0u" {
		t.Errorf("seq 1 = %s", got)
	}
	if got := ClientID(run, 2); got != "aso4iqle5nr33he99r" {
		t.Errorf("seq 2 = %s", got)
	}
	if got := Tag(run); got != "o4iqle" {
		t.Errorf("tag = %s", got)
	}
	form := regexp.MustCompile(`^as[0-9a-v]{16}$`)
	seen := map[string]int64{}
	for seq := int64(1); seq <= 5000; seq++ {
		for _, id := range []string{ClientID(run, seq), ListID(run, seq)} {
			if !form.MatchString(id) || !Ours(id) || id[2:8] != Tag(run) {
				t.Fatalf("%s is not recognised as ours", id)
			}
			if old, dup := seen[id]; dup {
				t.Fatalf("%s is of %d and of %d", id, old, seq)
			}
			seen[id] = seq
		}
	}
}

func TestOurs(t *testing.T) {
	form := regexp.MustCompile(`^as[0-9a-v]{16}$`)
	for _, id := range []string{
		"", "as", "aso4iqles1kfl9am0u", "aso4iqles1kfl9am0", "aso4iqles1kfl9am0uu", "bso4iqles1kfl9am0u",
		"asw4iqles1kfl9am0u", "asO4iqles1kfl9am0u", "as-4iqles1kfl9am0u", "web_0123456789abcd",
		"aso4iqles1kfl9am0\n",
	} {
		if Ours(id) != form.MatchString(id) {
			t.Errorf("Ours(%q) = %v", id, Ours(id))
		}
	}
}
