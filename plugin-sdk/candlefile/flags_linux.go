package candlefile

import "syscall"

// mapFlags fills the page table at once: every byte is read at open anyway, and one
// call is cheaper than a fault for every few pages.
const mapFlags = syscall.MAP_SHARED | syscall.MAP_POPULATE
