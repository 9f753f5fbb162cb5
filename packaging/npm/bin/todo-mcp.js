#!/usr/bin/env node
// Runs the program of this platform, which is in a package of its own. Newer versions
// of Node.js become that program; with others it runs beside this process, on the same
// standard input and output, so that no message passes through here.
"use strict";
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");
const { optionalDependencies } = require("../package.json");

const platform = `@todo-mcp/${process.platform}-${process.arch}`;

function fail(text) {
  console.error(`todo-mcp: ${text}`);
  process.exit(1);
}

function findProgram() {
  if (!(platform in optionalDependencies)) fail(`there is no program for ${process.platform}-${process.arch}; build it from source with Go`);
  try {
    return require.resolve(`${platform}/bin/todo-mcp${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    fail(
      `the package ${platform} is missing, which has the program. npm leaves it out with --omit=optional, ` +
        "and node_modules of another system have another one. Install it again here: npm install --include=optional todo-mcp",
    );
  }
}

function run(program) {
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  // In a terminal Ctrl-C and its end reach the program by themselves, and a second
  // signal would end it at once.
  const inTerminal = [0, 1, 2].some((fd) => isatty(fd));
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, () => (inTerminal && signal !== "SIGTERM") || child.kill(signal));
  child.on("error", (err) => fail(`${program} cannot be run: ${err.message}`));
  child.on("exit", (code, signal) => {
    for (const s of signals) process.removeAllListeners(s);
    if (signal) process.kill(process.pid, signal);
    else process.exit(code);
  });
}

const program = findProgram();
if (process.execve && process.platform !== "win32") process.execve(program, [program, ...process.argv.slice(2)], process.env);
else run(program);
