# want: exception
import asyncio

async def f(event):
    await asyncio.sleep(3600)
