%% SPDX-License-Identifier: GPL-2.0-or-later
%% usage: erl -noshell -eval 'hot:main(["SECONDS"])' -s init stop   (of CPU, all but none of it in spin)
-module(hot).
-export([main/1]).

spin(X, 0) -> X;
spin(X, N) -> spin((X * 69069 + N) band 16#7fffffff, N - 1).

used_ms() -> element(1, erlang:statistics(runtime)).

until(End, X) ->
    case used_ms() < End of
        true -> until(End, spin(X, 100000));
        false -> X
    end.

main([Seconds]) ->
    End = used_ms() + 1000 * list_to_integer(Seconds),
    _ = until(End, 1),
    ok.
