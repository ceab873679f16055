// The way from page to page.
import { address, type PageName } from "../state/address.ts";
import { place } from "../state/route.ts";

const entries: { page: PageName; words: string; also: PageName[] }[] = [
  { page: "runner", words: "Runner", also: [] },
  { page: "runs", words: "Runs", also: ["run", "compare", "falsification"] },
  { page: "families", words: "Families", also: ["family"] },
  { page: "data", words: "Data", also: [] },
  { page: "governance", words: "Board", also: [] },
  { page: "live", words: "Live", also: [] },
];

export function Nav() {
  const here = place.value.page;
  return (
    <nav aria-label="Pages">
      <ul>
        {entries.map(({ page, words, also }) => (
          <li key={page}><a href={address(page)} aria-current={here === page ? "page" : also.includes(here) ? "true" : undefined}>{words}</a></li>
        ))}
      </ul>
    </nav>
  );
}
