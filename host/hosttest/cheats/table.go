package cheats

import (
	"fmt"
	"slices"
	"strings"
)

// Row is an attack and what becomes of it.
type Row struct {
	ID     string // as in the table
	Attack string
	// Wanted is what ought to become of it, Got what does, in the words of the table: a test holds the code
	// to Got. Where they differ, Got begins with "not stopped today: ".
	Wanted, Got string
	// Test is the test that shows it: a package and a function, or a script of lab.
	Test string
	// Play is set where the battery itself is the test.
	Play *Play
}

// Play is a run and a falsification.
type Play struct {
	// Strategy is the plugin and Params its parameters, {} for the defaults.
	Strategy, Params string
	// From and To are the days, of the bundled BTC/USDT hours or of Tides, hours with an edge planted.
	From, To string
	Tides    bool
	// Replicas are the replays of random_entry and permuted_candles; 0 is 19.
	Replicas int
	// Overall is the verdict, By the tests that fail, others apart; Not those that ought to fail and do not.
	Overall string
	By, Not []string
}

// theTest is the test that plays the rows.
const theTest = "lab/cmd TestCheats"

// The verdicts of the battery.
const (
	pass = "pass"
	warn = "warn"
	fail = "fail"
)

// played is a row about a strategy.
func played(id, attack, wanted, note string, p Play) Row {
	got := p.Overall
	if len(p.By) > 0 {
		got += ": " + strings.Join(p.By, ", ")
	}
	if note != "" {
		got = note + " (" + got + ")"
	}
	return Row{ID: id, Attack: attack, Wanted: wanted, Got: got, Test: theTest, Play: &p}
}

// The hours that most rows are played on.
const (
	start2019, start2020 = "2019-01-01", "2020-02-01"
	end2020, end2021     = "2020-12-01", "2021-01-01"
	wholeFrom, wholeTo   = "2017-08-17", "2024-04-21"
	startTides, endTides = "2021-01-01", "2021-09-01"
	unseen               = "paper at most"
)

// Battery returns the rows that lab falsify judges.
func Battery() []Row {
	return []Row{
		played("i", "honest moving average, no edge", fail, "",
			Play{Strategy: "honest_sma", From: start2019, To: end2021, Overall: fail,
				By: []string{"random_entry", "permuted_candles"}}),
		played("ii", "best of 100 random rules, its numbers constants of the program", unseen,
			"stated, not stopped: the lab cannot see it", Play{Strategy: "baked",
				Params: `{"pair":"21/157"}`, From: wholeFrom, To: wholeTo, Replicas: 59, Overall: warn}),
		{"ii'", "the same search by lab family: 100 coins", "warn: selection_bias", "warn: selection_bias",
			"lab/cmd/testdata/prove/best_of_coins.txtar", nil},
		played("iii", "table of prices by time", fail, "",
			Play{Strategy: "time_table", From: start2019, To: end2021,
				Overall: fail, By: []string{"metamorphic", "plausibility"}}),
		played("iii'a", "prices inside, found by returns, fixed stake", fail, "", Play{Strategy: "memory_day",
			From: start2020, To: end2020, Overall: fail, By: []string{"plausibility"}}),
		played("iii'b", "the same, half of the cash", fail, "", Play{Strategy: "memory_cash",
			From: start2020, To: end2020, Overall: fail, By: []string{"plausibility"}}),
		played("iii'c", "the same by exact returns", fail, "", Play{Strategy: "memory_two",
			From: start2020, To: end2020, Overall: fail, By: []string{"price_noise", "plausibility"}}),
		played("iii'd", "the same, half of its trades coins: Sharpe ratio of a good strategy", unseen,
			"stated, not stopped: it earns what is believed", Play{Strategy: "memory_rare",
				From: start2019, To: end2021, Replicas: 59, Overall: warn}),
		played("iv", "memorised good weeks", fail, "",
			Play{Strategy: "good_weeks", From: start2019, To: end2021,
				Overall: fail, By: []string{"metamorphic", "plausibility"}}),
		played("iv'", "table by level of price", fail, "",
			Play{Strategy: "price_table", From: start2020, To: end2020,
				Overall: fail, By: []string{"cost_stress", "random_entry"}}),
		played("v", "martingale", "fail: tails", "",
			Play{Strategy: "martingale", From: start2019, To: end2021,
				Overall: fail, By: []string{"tails"}}),
		played("v'", "never sells at a loss", "fail: tails", "",
			Play{Strategy: "never_loses", From: start2019,
				To: end2021, Overall: fail, By: []string{"tails"}}),
		played("vi", "chance decides one candle in 2,000", fail, "", Play{Strategy: "dice", From: start2019,
			To: end2021, Overall: fail, By: []string{"determinism"}}),
		played("vi'", "decides by the machine's day of the month", "fail: determinism",
			"not stopped today: determinism passes without sources",
			Play{Strategy: "machine_day", From: start2019,
				To: end2021, Overall: fail, By: []string{"cost_stress", "random_entry"},
				Not: []string{"determinism"}}),
		played("vii", "buy and hold, disguised", fail, "",
			Play{Strategy: "disguised", From: start2019, To: end2021,
				Overall: fail, By: []string{"random_entry", "buy_and_hold"}}),
		played("viii", "planted edge, honest", "pass or warn", "",
			Play{Strategy: "tide", Tides: true, From: startTides, To: endTides, Replicas: 59,
				Overall: warn}),
		played("viii'", "the same with a bomb for 2027", "fail: metamorphic", "",
			Play{Strategy: "tide_bomb", Tides: true, From: startTides, To: endTides, Overall: fail,
				By: []string{"metamorphic"}}),
		played("ix", "luckiest of 40,000 random rules, found outside", unseen, "", Play{Strategy: "signs",
			Params: `{"rule":"38803"}`, From: start2019, To: end2021, Replicas: 59, Overall: fail,
			By: []string{"random_entry"}}),
		played("x", "turn of the month, honest, declared as calendar date", "not refuted", "",
			Play{Strategy: "turn_of_month", From: wholeFrom, To: wholeTo, Replicas: 59, Overall: warn,
				Not: []string{"metamorphic"}}),
	}
}

// Plane returns the rows that the control plane, its hosts and the registry of runs judge.
func Plane() []Row {
	const c = "governance/control "
	const p = "governance/promotion "
	same := func(id, attack, wanted, test string) Row { return Row{id, attack, wanted, wanted, test, nil} }
	rows := []Row{
		same("1", "posted again; a bit changed anywhere", "200, nothing new; 4xx", c+"TestTampering"),
		same("2", "summary changed, id made again, by anybody", "400 SUMMARY_MISMATCH",
			c+"TestSharpe99Unsigned"),
		same("3", "refuted run declared as survived, signed, replayed, waived", "400 SUMMARY_MISMATCH",
			c+"TestForgedNumbersAreRefused"),
		same("4", "the same without its files", "research, no gate passes",
			c+"TestForgedNumbersWithoutFilesGoNowhere"),
		same("5", "fewer trials declared", "400 SUMMARY_MISMATCH",
			"lab/cmd/testdata/prove/candidate_forged.txtar"),
		same("5'", "another plugin, parameters or candles declared than the files have",
			"400 SUMMARY_MISMATCH", "governance/bundle/evidence TestDeclaredNumbersAreNotBelieved"),
		same("6", "replay that repeats hashes without running", "not reproduced",
			p+"TestHashesAloneReproduceNothing"),
		same("6'", "hashes, numbers and verdicts repeated without running", "no money without an answer",
			p+"TestHashesAloneReachNoMoney"),
		same("6''", "the same with an answer that is made up", "disputed once another key answers",
			p+"TestAnswersThatDiffer"),
		same("6'''", "the same in a window of its own choice", "400 INVALID_CHALLENGE",
			c+"TestAWindowOfOnesChoice"),
		same("6''''", "few candles: decisions of the baseline's files as the answer", "400 INVALID_CHALLENGE",
			p+"TestWindowsOfFewCandles"),
		same("6a", "the commitment of the other side, copied", "400 INVALID_COMMITMENT",
			p+"TestAttacksOnCommitments"),
		same("6b", "shows an answer before the other side has committed", "400 INVALID_COMMITMENT",
			p+"TestBothCommitBeforeEitherShows"),
		same("6c", "sees the other answer, then changes its own, commits anew, or answers in a replay",
			"400 INVALID_COMMITMENT", p+"TestAttacksOnCommitments"),
		same("6d", "a nonce that was shown; commitment or answer of another revision",
			"400 INVALID_COMMITMENT", p+"TestAttacksOnCommitments"),
		same("6e", "a sole answer that is made up, or copied by the packer", "challenge.confirmed pending",
			p+"TestASoleAnswer"),
		same("6f", "replays it, and packs the same runs", "not reproduced", p+"TestAReplayerThatPacksLater"),
		same("7", "replay that comes to other numbers", "gate fails", p+"TestAReplayWithOtherNumbersFails"),
		same("8", "falsification of another run", "says nothing",
			p+"TestAFalsificationOfAnotherRunSaysNothing"),
		same("8'", "falsification left out", "research, gates pending", c+"TestTheFalsificationLeftOut"),
		same("9", "unsigned bundle where trust is configured", "research",
			p+"TestUnsignedBundlesStayInResearch"),
		same("10", "drill without a killed run, or ahead of time", "400 INVALID_DRILL",
			c+"TestDrillsNameARunThatIsOver"),
		same("10'", "a drill of the packer's, by another key; packed by its signer later",
			"400 INVALID_DRILL; gate pending", p+"TestADrillOfOnesOwn"),
		same("10a", "fortnight in paper that only the packer vouches for", "soak.paper pending",
			p+"TestRunsThatNoHostHasSigned"),
		same("10a'", "signs it as the service that made it: another key, or other files", "400",
			"governance/control/command TestAServiceSignsItsRun"),
		same("10b", "declares no diverging fills", "those of the shadow count", p+"TestTheWorkersFillsCount"),
		same("11", "approval expired, of another origin, revision or role", "refused",
			c+"TestApprovalsThatAreRefused"),
		same("11'", "waiver of 30 days, expired or dated ahead", "refused",
			"governance/bundle TestAudienceAndTimes"),
		same("12", "two keys of one person", "counted once", p+"TestOnePersonFillsTheRightPlace"),
		same("13", "waiver of integrity, lineage or assurance", "does not count", p+"TestWhatNobodyMayWaive"),
		same("14", "refutation waived by risk alone", "does not count", c+"TestARefutationTakesTwoWaivers"),
		same("15", "a loss on the locked test", "research", c+"TestLossesOutOfSample"),
		same("16", "runs of a changed lab", "engine.listed pending", c+"TestALabThatIsNotListed"),
	}
	return slices.Concat(rows, prospective(same), kept(same), declared(same))
}

// prospective are the rows about days after the seal, and about what stands by them.
func prospective(same func(id, attack, wanted, test string) Row) []Row {
	const c, p = "governance/control ", "governance/promotion "
	return []Row{
		same("17", "all gates of paper, no days after the seal, asks for real money",
			"shadow.evidence pending", c+"TestNothingLiveWithoutUnseenDays"),
		same("17a", "seals many unsigned, watches them, signs the best", "its days begin with the signature",
			p+"TestTheBestOfManyUnsigned"),
		same("17b", "packs the same again to be no claim", "E of 20 more for what follows",
			p+"TestEachSealIsAClaim"),
		same("17b'", "seals many under several names", "a policy can take all for one stream",
			p+"TestPlacesAreNeverFree"),
		same("17b''", "by e_bh: lowers a bar by what nobody has approved, was stopped, or withholds a day",
			"it counts for no other", p+"TestDiscoveriesTogether"),
		same("17c", "a worker states a day on another candle than the exchange's",
			"in dispute, counts for no revision", "lab/cmd/testdata/prove/shadow_exchange.txtar"),
		same("17c'", "states days of a program of one's own", "400 INVALID_SHADOW",
			"governance/control TestDaysOfOnesOwn"),
		same("17c''", "states days, then packs the program, a copy, or another of its family",
			"they count only where they lose", p+"TestAWorkerThatPacksLater"),
		same("17d", "disputes the days that lost", "they stay losses", p+"TestADayInDispute"),
		same("17e", "disputes by the key of the worker, or from a venue of its own", "400 INVALID_DISPUTE",
			p+"TestWhoMayDispute"),
		same("17f", "disputes away a ruin", "fail", p+"TestARuinIsNotDisputedAway"),
		same("18", "prices inside, sealed, then days pass", "suspended, or E stays low",
			"lab/cmd/testdata/prove/shadow.txtar"),
		same("19", "another plugin inherits the place of a live one", "research",
			p+"TestAnotherPluginTakesNoPlaceOfALiveOne"),
		same("19'", "an unsigned successor or rival of a live one", "moves nothing",
			p+"TestAnUnsignedPostMovesNothing"),
		same("20", "resume by one, with an open critical incident, or by what was signed for an earlier stop",
			"stays stopped", p+"TestResumingTakesTwo"),
		same("20'", "resume after retirement; a stop by a key that nobody trusts", "stays retired; 400",
			c+"TestAfterTheEnd"),
	}
}

// kept are the rows about the log, and about how many trials are counted.
func kept(same func(id, attack, wanted, test string) Row) []Row {
	const c, p = "governance/control ", "governance/promotion "
	return []Row{
		same("21", "rows of the database edited", "read only, LEDGER_CORRUPT", c+"TestEditedDatabase"),
		same("22", "old database beside newer checkpoints", "read only, LEDGER_ROLLBACK",
			c+"TestRestoredBackup"),
		same("23", "another history of the same length", "read only, LEDGER_CORRUPT", c+"TestForkedHistory"),
		same("24", "folder from before a kill, made longer, shown to a host", "refused as forked",
			"governance/control/command TestForkIsRefused"),
		same("25", "the same at a host's first contact", "not cosigned",
			"governance/control/command TestForkIsNotCosigned"),
		same("26", "database and checkpoints.log cut together", "verify --since fails",
			"governance/ledger/verify TestSince"),
		same("26a", "seals by the keys that the log had before", "verify fails, no window is drawn",
			"governance/control/command TestKeysRotate"),
		same("27", "slug, family or comments changed to reset N", "N stays",
			"lab/search/selection TestCommentsAndNamesAddNothing"),
		same("27a", "declares the trials of the log copies of one", "N stays",
			p+"TestDeclaredCopiesJoinNothing"),
		same("27b", "unsigned list to raise the N of others", "N stays", p+"TestUnsignedListsCountForNobody"),
		same("27c", "registers a search, or many, and declares one trial", "N of all plans",
			p+"TestASearchThatWasRegistered"),
		same("28", "test days made train by data.start, or backtested by the service", "a look, shown",
			"host/registry TestLooks"),
		same("28'", "held out candles exported, to search on the file elsewhere", "a look, shown",
			"lab/cmd/testdata/data_export.txtar"),
		same("28''", "the candles of a locked test, from the API's chart of a run",
			"409 SPLIT_LOCKED, until a look", "api TestCandlesOfALockedTest"),
		same("29", "the same search in another state directory, under another family and owner, submitted",
			"counted by the plane", "lab/cmd/testdata/other_state_directory.txtar"),
		{"29'", "the same, not submitted", "counted by nobody but its own lab",
			"stated, not stopped: N of each lab is its own", "lab/cmd/testdata/other_state_directory.txtar",
			nil},
	}
}

// declared are the rows about what a bundle declares of its candles, and about the plane's judgement.
func declared(same func(id, attack, wanted, test string) Row) []Row {
	const c, p, j = "governance/control ", "governance/promotion ", "governance/promotion/policy "
	return []Row{
		same("30", "candles of a bundle dated elsewhere, reordered, added or left out",
			"400 SUMMARY_MISMATCH", c+"TestCandlesDatedAway"),
		same("30'", "the same, replayed", "nothing is signed", "lab/candidate TestOtherDatesAreNotSigned"),
		same("31", "a timeframe without a baseline, a baseline without a falsification",
			"400 SUMMARY_MISMATCH", c+"TestCandlesDatedAway"),
		same("31'", "the same, where the plane had taken it before", "gates pending",
			j+"TestEachTimeframeIsAttacked"),
		same("32", "fetches days once it is known how they ended", "none of the sixty",
			p+"TestLateDaysFillNoGate"),
		same("33", "a seal dated back by the plane's own clock", "days count from the witness's time",
			p+"TestASealThatIsDatedBack"),
		same("33'", "cosigns with a witness of one's own, or twice", "counts as none, or once",
			p+"TestWitnessesOfAPolicy"),
		same("33a", "packs the program of others again, with a witness of one's own",
			"counts as none for who packs", p+"TestAWitnessOfWhoPacksAgain"),
		same("33''", "logs a cosignature that no witness has given", "no fact",
			p+"TestForgedCosignatures"),
		same("34", "a warning of what was found, passed for one of what cannot be shown", "gate fails",
			j+"TestWarningsAreAcceptedByReason"),
		same("34'", "the same, its reason changed in the file, replayed", "gate fails",
			j+"TestAReasonThatIsMadeUp"),
		same("34''", "looser thresholds behind a result too good to be true, then E of 20", "gate fails",
			j+"TestWhatWasTooGoodToBeTrue"),
		same("35", "declares an input, so that no candle is moved to another day", "fail: metamorphic",
			"lab/cmd/testdata/prove/inputs.txtar"),
		same("36", "declares trained_until, and is attacked on candles before it", "gates pending",
			j+"TestCandlesThatTheProgramWasMadeWith"),
	}
}

// Markdown is the table of all rows.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| # | attack | expected | got | test |\n|---|---|---|---|---|\n")
	for _, r := range slices.Concat(Battery(), Plane()) {
		got := r.Got
		if got == r.Wanted {
			got = "so"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.ID, r.Attack, r.Wanted, got, shortTest(r.Test))
	}
	return b.String()
}

func shortTest(test string) string { return "`" + test + "`" }
