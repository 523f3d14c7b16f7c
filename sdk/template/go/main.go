// Makes a policy of the functions in rule; there is nothing to change here.
package main

import _ "policy/bindings/wit_exports"

func main() {}
