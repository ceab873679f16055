package eval

import "encoding/json"

// example is a good request with its answer: published, a closed form, or done by hand.
// want is JSON, of an object as many members as are known; or "null" and a reason, or
// "error" and a code.
type example struct{ fn, inputs, want string }

func (e example) request() string { return `{"fn":` + quoted(e.fn) + `,"inputs":` + e.inputs + `}` }

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// examples has at least one for every function.
func examples() []example {
	return []example{
		{
			fn:     "moments_and_sharpe",
			inputs: `{"returns":[2,4,4,4,5,5,7,9],"rf":5}`,
			want:   `{"sharpe":0,"skew_pop":0.65625,"kurt_pop_raw":2.78125,"sr_se":0.3779644730092272}`,
		},
		{
			fn:     "moments_and_sharpe",
			inputs: `{"returns":[1],"rf":0}`,
			want:   `null too_few_returns`,
		},
		{
			fn:     "sharpe",
			inputs: `{"returns":[1,2,6],"rf":0,"ddof":1}`,
			want:   `1.1338934190276817`,
		},
		{
			fn:     "sharpe",
			inputs: `{"returns":[0.1,0.1,0.1],"rf":0,"ddof":1}`,
			want:   `null zero_variance`,
		},
		{
			fn:     "sortino",
			inputs: `{"returns":[3,-4],"target":0}`,
			want:   `-0.17677669529663687`,
		},
		{
			fn:     "sortino",
			inputs: `{"returns":[3,4],"target":0}`,
			want:   `null no_losses`,
		},
		{
			fn:     "omega",
			inputs: `{"returns":[3,-4,1],"threshold":0}`,
			want:   `1`,
		},
		{
			fn:     "sharpe_se_mertens",
			inputs: `{"sr":0,"T":26,"skew":-3,"kurt_raw":10}`,
			want:   `0.2`,
		},
		{
			fn:     "sharpe_se_mertens",
			inputs: `{"sr":0,"T":1,"skew":0,"kurt_raw":3}`,
			want:   `null too_few_returns`,
		},
		{
			fn:     "sharpe_se_lo_iid",
			inputs: `{"rows":[[0,25],[2,3]]}`,
			want:   `[0.2,1]`,
		},
		{
			fn:     "lo_eta_ar1",
			inputs: `{"rows":[[9,0],[1,0.5]]}`,
			want:   `[3,1]`,
		},
		{
			fn:     "hl_autocorr_corrected_annual_sr",
			inputs: `{"sr_annual":2,"rho":0,"freqs":["D360","W52","M12","Q4"]}`,
			want:   `[2,2,2,2]`,
		},
		{
			fn:     "psr_2012",
			inputs: `{"sr":0.1,"sr_benchmark":0.1,"T":24,"skew":-2,"kurt_raw":9}`,
			want:   `0.5`,
		},
		{
			fn:     "psr_2012",
			inputs: `{"returns":[-1,1],"sr_benchmark":0}`,
			want:   `0.5`,
		},
		{
			fn:     "psr_2012",
			inputs: `{"returns":[1,1],"sr_benchmark":0}`,
			want:   `null zero_variance`,
		},
		{
			fn:     "min_trl_2012",
			inputs: `{"returns":[-1,1,2],"sr_benchmark":9,"confidence":0.9}`,
			want:   `null sharpe_not_above_benchmark`,
		},
		{
			fn:     "min_trl_2012",
			inputs: `{"sr":1,"sr_benchmark":0,"skew":0,"kurt_raw":3,"confidence":0.5,"divide_by":4}`,
			want:   `0.25`,
		},
		{
			fn:     "min_trl_2012",
			inputs: `{"returns":[1,1],"sr_benchmark":9,"confidence":0.9,"divide_by":4}`,
			want:   `null zero_variance`,
		},
		{
			fn:     "property: psr(sr,sr,T,*)=0.5 and psr(sr,sr0,minTRL(conf))=conf",
			inputs: `{"sr":0.2,"sr0":0.1,"skew":1,"kurt_raw":4,"conf":[0.5,0.9]}`,
			want:   `[0.5,0.5,0.9]`,
		},
		{
			fn:     "property: psr(sr,sr,T,*)=0.5 and psr(sr,sr0,minTRL(conf))=conf",
			inputs: `{"sr":0.1,"sr0":0.1,"skew":1,"kurt_raw":4,"conf":[0.9]}`,
			want:   `[0.5,null]`,
		},
		{
			fn:     "expected_max_z_approx",
			inputs: `{"N":[1]}`,
			want:   `[0]`,
		},
		{
			fn:     "expected_max_z_exact",
			inputs: `{"N":[1,2]}`,
			want:   `[0,0.5641895835477563]`,
		},
		{
			fn:     "sd_of_max_z_exact",
			inputs: `{"K":[1,2]}`,
			want:   `[1,0.8256452711767533]`,
		},
		{
			fn:     "min_backtest_length_years",
			inputs: `{"N":1,"target_sr_annual":1}`,
			want:   `{"years":0,"upper_bound":0}`,
		},
		{
			fn:     "dsr_2014",
			inputs: `{"sr":0,"trials_sr_variance":0,"N":9,"T":10,"skew":0,"kurt_raw":3}`,
			want:   `{"sr0":0,"dsr":0.5,"pass_95":false}`,
		},
		{
			fn:     "dsr N=1 equals psr(0)",
			inputs: `{"sr":0,"trials_sr_variance":4,"N":1,"T":10,"skew":0,"kurt_raw":3}`,
			want:   `0.5`,
		},
		{
			fn:     "dsr N=1 equals psr(0)",
			inputs: `{"sr":0,"trials_sr_variance":4,"N":1,"T":1,"skew":0,"kurt_raw":3}`,
			want:   `null too_few_returns`,
		},
		{
			fn:     "dsr_from_trial_sharpes",
			inputs: `{"sr":0,"trial_sharpes":[0.3],"T":10,"skew":0,"kurt_raw":3}`,
			want:   `{"ddof1":0.5,"ddof0":0.5}`,
		},
		{
			fn:     "dsr_from_trial_sharpes",
			inputs: `{"sr":0,"trial_sharpes":[],"T":10,"skew":0,"kurt_raw":3}`,
			want:   `null too_few_returns`,
		},
		{
			fn:     "psr_2025",
			inputs: `{"sr":0.2,"T":9,"skew":0,"kurt_raw":3,"sr_benchmark":[0.2]}`,
			want:   `[0.5]`,
		},
		{
			fn:     "min_trl_2025",
			inputs: `{"sr":0.2,"skew":0,"kurt_raw":3,"alpha":0.5,"sr_benchmark":[0,0.2]}`,
			want:   `[0,null]`,
		},
		{
			fn:     "sharpe_test_power",
			inputs: `{"sr0":0.1,"sr1":0.1,"T":50,"skew":0,"kurt_raw":3,"alpha":0.05}`,
			want:   `0.05`,
		},
		{
			fn:     "dsr_2025",
			inputs: `{"sr":0,"K":1,"trials_sr_variance":1,"T":10,"skew":0,"kurt_raw":3}`,
			want:   `{"sr0":0,"dsr":0.5,"dsr_no_K_scaling":0.5}`,
		},
		{
			// sd(max_2)^2 is 1 - 1/pi.
			fn:     "dsr_2025",
			inputs: `{"sr":0.1,"K":2,"trials_sr_variance":0,"T":100,"skew":0,"kurt_raw":3,"rho":0.5}`,
			want:   `{"sr0":0,"dsr":0.8622625564164472,"dsr_no_K_scaling":0.8413447460685429}`,
		},
		{
			fn:     "pFDR_and_oFDR",
			inputs: `{"p_H1":0.5,"alpha":0.1,"beta":0.9,"sr":0.1,"sr0":0.1,"sr1":0.1,"T":10,"skew":0,"kurt_raw":3}`,
			want:   `{"pFDR":0.5,"oFDR":0.5}`,
		},
		{
			fn:     "n_eff_avg_corr",
			inputs: `{"M":[10,10],"rho":[-0.2,0.5]}`,
			want:   `[10,5.5]`,
		},
		{
			fn:     "effective_rank",
			inputs: `{"corr":[[1,0],[0,1]]}`,
			want:   `2`,
		},
		{
			fn:     "adjusted_p",
			inputs: `{"p":[0.02,0.04]}`,
			want:   `{"bonferroni":[0.04,0.08],"holm":[0.04,0.04],"bh":[0.04,0.04],"by":[0.06,0.06],"hl_bhy":[0.04,0.04]}`,
		},
		{
			fn:     "adjusted_p (unsorted input order preserved)",
			inputs: `{"p":[0.04,0.02]}`,
			want:   `{"holm":[0.04,0.04],"bonferroni":[0.08,0.04]}`,
		},
		{
			fn:     "hl_haircut_bonferroni",
			inputs: `{"sr_annual":1,"n_months":120,"rho":0,"n_tests":1e9,"dist":"student_t(n-1)"}`,
			want:   `{"sr_ac":1,"p_adj":1,"haircut_sr":0,"haircut":1}`,
		},
		{
			fn:     "hl_haircut_independent",
			inputs: `{"sr_annual":0,"n_months":120,"n_tests":5,"dist":"normal"}`,
			want:   `{"t":0,"p_single":1,"p_multi":1,"haircut_sr":null,"haircut":null}`,
		},
		{
			fn:     "profit_hurdle_percent_per_month",
			inputs: `{"n_tests":1,"alpha":0.05,"rows":[[12,0]]}`,
			want:   `{"single":[0],"bonferroni":[0]}`,
		},
		{
			fn:     "cscv_combination_count",
			inputs: `{"S":[2,16]}`,
			want:   `[2,12870]`,
		},
		{
			fn:     "cscv",
			inputs: `{"S":2,"metric":"mean","matrix_T_by_N":[[9,9],[1,0],[1,0],[0,1],[0,1]]}`,
			want:   `{"pbo":1,"n":2,"logit_all":-0.6931471805599453,"omega":[0.3333333333333333,0.3333333333333333],"prob_oos_loss":0,"is_oos_pairs":[[1,0],[1,0]],"slope":null,"dropped_rows":1}`,
		},
		{
			fn:     "cscv",
			inputs: `{"S":2,"metric":"sharpe ddof=1","matrix_T_by_N":[[1,1],[1,0],[1,0],[1,1]]}`,
			want:   `null zero_variance`,
		},
		{
			fn:     "rolling",
			inputs: `{"n":5,"train":2,"test":1,"step":2,"purge":0}`,
			want:   `[[[0,1],[2]],[[2,3],[4]]]`,
		},
		{
			fn:     "rolling purged",
			inputs: `{"n":4,"train":1,"test":1,"step":1,"purge":1}`,
			want:   `[[[0],[2]],[[1],[3]]]`,
		},
		{
			fn:     "anchored + partial last test",
			inputs: `{"n":6,"train":3,"test":2,"anchored":true,"keep_partial":true}`,
			want:   `[[[0,1,2],[3,4]],[[0,1,2,3,4],[5]]]`,
		},
		{
			fn:     "rolling + partial last test",
			inputs: `{"n":6,"train":3,"test":2,"anchored":false,"keep_partial":false}`,
			want:   `[[[0,1,2],[3,4]]]`,
		},
		{
			fn:     "purge 1",
			inputs: `{"n":12,"n_folds":3,"n_test_folds":2,"purge":1,"embargo":0}`,
			want:   `[[[9,10,11],[[0,1,2,3],[4,5,6,7]]],[[5,6],[[0,1,2,3],[8,9,10,11]]],[[0,1,2],[[4,5,6,7],[8,9,10,11]]]]`,
		},
		{
			fn:     "embargo 1",
			inputs: `{"n":6,"n_folds":2,"n_test_folds":1,"purge":0,"embargo":1}`,
			want:   `[[[4,5],[[0,1,2]]],[[0,1,2],[[3,4,5]]]]`,
		},
		{
			fn:     "paths",
			inputs: `{"n_folds":3,"n_test_folds":2}`,
			want:   `{"n_splits":3,"n_paths":2,"recombined_paths":[[0,1],[0,2],[1,2]],"path_ids":[[0,0],[1,0],[1,1]]}`,
		},
		{
			fn:     "counts",
			inputs: `{"rows":[[6,2],[10,8]]}`,
			want:   `[[15,5],[45,36]]`,
		},
		{
			fn:     "60/20/20 floor rule",
			inputs: `{"n":[7,58419,0],"fractions":[0.6,0.2,0.2]}`,
			want:   `[[[0,4],[4,5],[5,7]],[[0,35051],[35051,46734],[46734,58419]],[[0,0],[0,0],[0,0]]]`,
		},
		{
			fn:     "politis_white",
			inputs: `{"x":[1,2]}`,
			want:   `null too_few_returns`,
		},
		{
			fn:     "politis_white on arch test data",
			inputs: `{"generator":"np.random"}`,
			want:   `error UNSUPPORTED_INPUT`,
		},
		{
			fn:     "index recursion",
			inputs: `{"n":3,"mean_block":2,"uniforms":[0,0.9,0.1],"random_starts":[2,1,1]}`,
			want:   `[2,0,1]`,
		},
		{
			fn:     "variance of sqrt(n)*mean",
			inputs: `{"x":[0,2],"mean_block":1}`,
			want:   `{"var":1,"kappa_1":0}`,
		},
		{
			// Less the mean, the replicas are -1, 0, 1 with the ratio 0, 0, 1, 1 with 1.1547, and 1, 1, 1,
			// which has none.
			fn:     "dsr_max",
			inputs: `{"returns_T_by_N":[[1,1],[2,2],[3,3]],"judged":1,"bootstrap_indices":[[0,1,2],[1,2,2],[2,2,2]]}`,
			want:   `{"sr":2,"count_ge":0,"B":3,"p":0.25,"dsr":0.75}`,
		},
		{
			fn:     "dsr_max",
			inputs: `{"returns_T_by_N":[[1,1],[1,2]],"judged":0,"bootstrap_indices":[[0,1]]}`,
			want:   `null zero_variance`,
		},
		{
			fn:     "white_rc",
			inputs: `{"d_T_by_K":[[1],[1]],"bootstrap_indices":[[0,0]]}`,
			want:   `{"stat":1.4142135623730951,"count_ge":0,"B":1,"p":0.5}`,
		},
		{
			fn:     "hansen_spa_studentised",
			inputs: `{"d_T_by_K":[[-1],[-2],[-3]],"bootstrap_indices":[[0,1,2]],"mean_block":1}`,
			want:   `{"stat":0,"count_ge":{"lower":1,"consistent":1,"upper":1},"p":{"lower":1,"consistent":1,"upper":1}}`,
		},
		{
			fn:     "hansen_spa_studentised",
			inputs: `{"d_T_by_K":[[1],[1],[1]],"bootstrap_indices":[[0,1,2]],"mean_block":1}`,
			want:   `null zero_variance`,
		},
		{
			fn:     "stepm studentised",
			inputs: `{"d_T_by_K":[[1],[3]],"bootstrap_indices":[[0,1]],"mean_block":1,"alpha":0.5}`,
			want:   `{"rejected":[0],"critical_values":[0],"t":[2.8284271247461903]}`,
		},
		{
			fn:     "stepm studentised",
			inputs: `{"d_T_by_K":[[1],[1]],"bootstrap_indices":[[0,1]],"mean_block":1,"alpha":0.5}`,
			want:   `null zero_variance`,
		},
		{
			fn:     "permute_bars",
			inputs: `{"ohlc":[[100,100,100,100],[110,110,110,110],[55,110,55,110]],"perm_gap":[1,0],"perm_intrabar":[0,1]}`,
			want:   `[[100,100,100,100],[50,50,50,50],[55,110,55,110]]`,
		},
		{
			fn:     "permute_bars",
			inputs: `{"ohlc":[[1,1,1,1],[2,2,2,2],[8,8,8,8]],"perm_gap":[0,2,1],"perm_intrabar":[1,2]}`,
			want:   `[[1,1,1,1],[4,4,4,4],[8,8,8,8]]`,
		},
		{
			fn:     "p_value",
			inputs: `{"rows":[[0,999],[1,3]]}`,
			want:   `[0.001,0.5]`,
		},
		{
			fn:     "exact max-drawdown distribution over all orderings",
			inputs: `{"trades":[10,-10],"start_equity":90}`,
			want:   `{"n":2,"observed":0.1,"min":0.1,"max":0.1111111111111111,"mean":0.10555555555555556,"sorted_unique_counts":[[0.1,1],[0.1111111111111111,1]],"final_equity_all":90}`,
		},
		{
			fn:     "gambler_ruin",
			inputs: `{"p":[0.5,0.75],"units":[3,2]}`,
			want:   `[1,0.1111111111111111]`,
		},
		{
			fn:     "drawdown list (money)",
			inputs: `{"equity":[100,90,120,114]}`,
			want:   `{"drawdowns":[10,6],"max_drawdown_fraction":0.1}`,
		},
		{
			fn:     "break_even_cost_bps",
			inputs: `{"gross_pnl":100,"turnover_notional":0,"base_cost_bps":10}`,
			want:   `{"net":100,"break_even_bps":null,"cost_multiple":null}`,
		},
		{
			fn:     "break_even_cost_bps",
			inputs: `{"gross_pnl":100,"turnover_notional":1000,"base_cost_bps":0}`,
			want:   `{"net":100,"break_even_bps":1000,"cost_multiple":null}`,
		},
		{
			fn:     "max participation",
			inputs: `{"orders_qty":[1,2,0],"bar_volume":[10,5,0],"limit":0.2}`,
			want:   `{"participation":[0.1,0.4,0],"violations":[1],"max_scale":0.5}`,
		},
		{
			fn:     "max participation",
			inputs: `{"orders_qty":[1],"bar_volume":[0],"limit":0.2}`,
			want:   `{"participation":[null],"violations":[0],"max_scale":0}`,
		},
		{
			fn:     "ema20 last value vs startup length",
			inputs: `{"prices":[8,11,14],"ema_period":2,"startup":[2,0]}`,
			want:   `{"full":12.666666666666666,"rel_diff":[0,0.10526315789473684]}`,
		},
		{
			fn:     "first 8 points unscrambled d=3",
			inputs: `{"d":2,"n":4}`,
			want:   `[[0,0],[0.5,0.5],[0.75,0.25],[0.25,0.75]]`,
		},
		{
			fn:     "rungs",
			inputs: `{"n":9,"eta":3,"min_budget":1,"max_budget":2}`,
			want:   `[[9,1],[3,2]]`,
		},
		{
			fn:     "cartesian order and count",
			inputs: `{"params":{"b":[1,2],"a":["x",null]}}`,
			want:   `{"count":4,"order":[{"a":"x","b":1},{"a":"x","b":2},{"a":null,"b":1},{"a":null,"b":2}]}`,
		},
		{
			fn:     "cartesian order and count",
			inputs: `{"params":{"b":[1,2],"a":[]}}`,
			want:   `{"count":0,"order":[]}`,
		},
		{
			fn:     "periods_per_year (24/7 market, 365 d)",
			inputs: `{"timeframes":["1h","1M","8h"]}`,
			want:   `[8760,12,1095]`,
		},
		{
			fn:     "math/rand/v2 PCG",
			inputs: `{"seed1":1,"seed2":2}`,
			want:   `["0xc4f5a58656eef510","0x9dcec3ad077dec6c","0xc8d04605312f8088","0xcbedc0dcb63ac19a","0x3bf98798cae97950","0xa8c6d7f8d485abc"]`,
		},
		{
			fn:     "math/rand/v2 ChaCha8",
			inputs: `{"seed_ascii":"ABCDEFGHIJKLMNOPQRSTUVWXYZ123456"}`,
			want:   `["0xb773b6063d4616a5","0x1160af22a66abc3c","0x8c2599d9418d287c","0x7ee07e037edc5cd6"]`,
		},
		{
			fn:     "ema with explicit float64() conversions",
			inputs: `{"generator":"PCG(1,2)","alpha":0.1,"formula":"","digest":""}`,
			want:   `{"input":"b2b6d9b75915d99e","ema_safe":"6e19142326499d4d"}`,
		},
		{
			fn:     "canonicalize weird",
			inputs: `{"input_utf8":"{\"b\":1.0,\"a\":[]}"}`,
			want:   `{"output_utf8":"{\"a\":[],\"b\":1}","sha256":"1c8f8816506a8ccbc55140d8a7bb70214a8942c7030fc0fc2914cec675cd1c15"}`,
		},
		{
			fn:     "number serialisation",
			inputs: `{"ieee_hex":["8000000000000000","7ff0000000000000","fff8000000000000","3ff8000000000000"]}`,
			want:   `["0","ERROR","ERROR","1.5"]`,
		},
		{
			fn:     "sha256(JCS(request))",
			inputs: `{"input_utf8":"[ ]"}`,
			want:   `{"canonical":"[]","sha256":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"}`,
		},
		{
			fn:     "one parameter changed",
			inputs: `{"canonical":"[]"}`,
			want:   `{"sha256":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"}`,
		},
	}
}
