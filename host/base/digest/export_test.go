package digest

// Marshal is the slow way of JCS, for comparing.
var Marshal = marshal
