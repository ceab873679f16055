package main

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestProspectiveSection(t *testing.T) {
	section := prospective(20, 1)
	if again := prospective(20, 1); again != section {
		t.Error("the same seed makes another section")
	}
	if n := strings.Count(section, "\n| "); n != len(courses())+1 {
		t.Errorf("%d rows of %d courses", n-1, len(courses()))
	}
	page := "# Page\n" + selectionTitle + "x\n" + madeTitle + "y\n"
	with, err := withProspective(page, section)
	if err != nil {
		t.Fatal(err)
	}
	again, err := withProspective(with, section)
	if err != nil || again != with {
		t.Error("the section is there twice")
	}
	if rest, own := cutProspective(with); rest != page || own != section {
		t.Errorf("what is left is %q", rest)
	}
	if _, err := withProspective("no page", section); err == nil {
		t.Error("a text without the page's sections is taken")
	}
}

// TestFollow: an edge is found, what turns is stopped, and what stays goes on.
func TestFollow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found, stopped, alarms := 0, 0, 0
	for range 100 {
		if follow(course{promised: 5, days: 243, delivers: steady(5)}, random).live > 0 {
			found++
		}
		if follow(course{promised: 3, days: 243, delivers: steady(-3)}, random).stopped > 0 {
			stopped++
		}
		if follow(course{promised: 3, days: 243, delivers: steady(3)}, random).stopped > 0 {
			alarms++
		}
	}
	if found < 90 || stopped < 90 || alarms > 12 {
		t.Errorf("found %d, stopped %d, false alarms %d of 100", found, stopped, alarms)
	}
}
