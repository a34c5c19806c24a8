# want: exception
import subprocess

def f(event):
    return subprocess.run(['id'], capture_output=True).returncode
