package command

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/assay-run/assay/governance/promotion"
	"github.com/assay-run/assay/host/base/cli"
)

func portfolioCommand(w World) *cobra.Command {
	var o struct {
		controlOption
		jsonOption
	}
	var set *cli.Flags
	cmd := &cobra.Command{
		Use: "portfolio", Short: "Show how what is active goes together", Args: cobra.NoArgs,
		Long: "Shows correlations, common drawdowns and shares of risk of the active revisions, by the " +
			"daily returns out\nof sample in the files that the plane has read, and their capacity: the " +
			"capital at which the market's\nreaction to its own orders takes half of what the trades out " +
			"of sample have earned. Backtests that knew\nthe same past look more alike, or more " +
			"different, than they will be.",
		Example: "  governance portfolio\n  governance portfolio --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(set, o.ControlURL)
			if err != nil {
				return err
			}
			p := &promotion.Portfolio{}
			if err := c.get(cmd.Context(), "/portfolio", p); err != nil {
				return err
			}
			if o.JSON {
				return printJSON(w.Out, p)
			}
			showPortfolio(w.Out, p)
			return nil
		},
	}
	set = bind(cmd, w, &o)
	return cmd
}

func showPortfolio(out io.Writer, p *promotion.Portfolio) {
	if len(p.Members) == 0 {
		fmt.Fprintln(out, "nothing is active from paper on")
		return
	}
	tab := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(tab, "candidate\tstage\tcapital\tdays\tshare of risk\tcapacity\n")
	names := map[string]string{}
	for _, m := range p.Members {
		names[m.CandidateRevisionID] = m.CandidateID
		fmt.Fprintf(tab, "%s\t%s\t%s\t%d\t%s\t%s\n", m.CandidateID, m.Stage, brief(m.Capital), m.Days,
			number(m.RiskShare), shown(m.Capacity))
	}
	_ = tab.Flush() // to people
	fmt.Fprintf(out, "together on %d days: daily volatility %s, largest drawdown %s\n", p.SharedDays,
		number(p.Volatility), number(p.Drawdown))
	fmt.Fprintf(out, "capacity together: %s", shown(p.Capacity))
	if p.CapacitySymbol != nil {
		fmt.Fprintf(out, ", by %s", *p.CapacitySymbol)
	}
	fmt.Fprintln(out)
	if len(p.Pairs) == 0 {
		return
	}
	fmt.Fprintln(out)
	fmt.Fprint(tab, "pair\t\tdays\tcorrelation\tboth down 5 %\n")
	for _, x := range p.Pairs {
		fmt.Fprintf(tab, "%s\t%s\t%d\t%s\t%s\n", names[x.A], names[x.B], x.Days, number(x.Correlation),
			number(x.BothDown))
	}
	_ = tab.Flush()
}

// shown is a number that files may not show.
func shown(x *float64) string {
	if x == nil {
		return "not shown"
	}
	return brief(*x)
}
