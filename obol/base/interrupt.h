// A clean end on Ctrl-C: long work asks now and then, and leaves nothing half done.
//
//   catch_interrupts();                   // once, in main
//   for (...) { check_interrupt(); ... }  // throws Interrupted after SIGINT or SIGTERM
#pragma once

namespace obol {

// Turns SIGINT and SIGTERM into a flag. A second one ends the process at once.
void catch_interrupts();
bool signalled() noexcept;  // whether one came
// Whether the reporter in use wants the work to end; the console does after a signal.
bool interrupted() noexcept;
void check_interrupt();

}  // namespace obol
