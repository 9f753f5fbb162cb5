package resident

var Trim = trim
