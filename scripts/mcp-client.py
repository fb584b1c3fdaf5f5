#!/usr/bin/env python3
"""Works through a problem with `dmci mcp` by the official client (`pip install mcp`).

    scripts/mcp-client.py target/release/dmci
"""

import asyncio
import math
import pathlib
import sys
import tempfile

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def data_of(result):
    value = getattr(result, "structuredContent", None)
    if value is None:
        value = result.structured_content
    return value


def failed(result):
    value = getattr(result, "isError", None)
    return result.is_error if value is None else value


async def main(command: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        allowed = pathlib.Path(folder) / "data"
        allowed.mkdir()
        rows = "".join(f"{i / 8},{2.5 * math.exp(-0.1 * i)}\n" for i in range(40))
        (allowed / "decay.csv").write_text("x,y\n" + rows)
        (pathlib.Path(folder) / "outside.csv").write_text("x,y\n1,2\n")
        server = StdioServerParameters(command=command, args=["mcp", "--allow", str(allowed)])
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert len(tools) == 11, tools
            assert len((await session.list_resources()).resources) == 4

            async def good(tool, **arguments):
                result = await session.call_tool(tool, arguments)
                assert not failed(result), (tool, result)
                return data_of(result)

            async def bad(tool, words, **arguments):
                result = await session.call_tool(tool, arguments)
                assert failed(result) and words in str(data_of(result)), (tool, result)

            assert (await good("describe_data", data="decay.csv"))["rows"] == 40
            first = "(params (a free 1.0) (b free 1.0)) (+ a (* b x))"
            second = "(params (a free 1.0) (b free 1.0)) (/ a (+ b x))"
            third = "(params (a free 1.0) (b free 1.0)) (* a (exp (- (* c x))))"
            rejected = await good("check_program", program=third, data="decay.csv")
            assert not rejected["ok"] and rejected["diagnostics"][0]["code"] == "E0301"
            third = third.replace("c x", "b x")
            assert (await good("check_program", program=third, data="decay.csv"))["ok"]
            fit = await good("fit_program", program=third, data="decay.csv", target="y")
            assert abs(fit["parameters"]["b"]["value"] - 0.8) < 1e-6
            ranked = await good("compare_programs", programs=[first, second, third], data="decay.csv", target="y")
            assert ranked["programs"][0]["number"] == 2
            code = await good("export_program", program=third, data="decay.csv", language="c")
            assert "exp(" in code["source"]
            search = (await good("search_start", data="decay.csv", target="y", seconds=20.0, ops="+ * exp"))["search"]
            proposals = [third.replace("(- (* b x))", "(* b x)"), "(sin x)", "(params (a free 1.0)) (* a nowhere)"]
            results = (await good("search_propose", search=search, programs=proposals))["results"]
            assert "rejected" not in results[0], results
            assert [r["rejected"]["stage"] for r in results[1:]] == ["operations", "names"], results
            assert (await good("search_status", search=search))["proposed_by_agent"] == 3
            await bad("search_status", "no search", search=99)
            await bad("describe_data", "may be read", data="../outside.csv")
            await bad("describe_data", "needs the argument", **{})
            await bad("run_program", "at most 200000", program="(" * 300_000)
            try:
                await asyncio.wait_for(session.call_tool("run_program", {"program": "(let f () (f))", "time": 50}), 1.0)
                raise AssertionError("it ended")
            except (asyncio.TimeoutError, TimeoutError):
                pass
            assert (await good("run_program", program="(+ 1 2)"))["value"] == 3
    print("the official client works through the problem")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
