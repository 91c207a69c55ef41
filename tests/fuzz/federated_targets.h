// What other machines send, where this build speaks to any.
#pragma once

#include <cstddef>
#include <span>

namespace obol::fuzz {

void read_from_client(std::span<const std::byte> input);  // as a server does
void read_question(std::span<const std::byte> input);     // as a client does
void read_terms(std::span<const std::byte> input);        // likewise
// The same, over connections to a server and a client that are alive.
void send_to_server(std::span<const std::byte> input);
void send_to_client(std::span<const std::byte> input);

}  // namespace obol::fuzz
