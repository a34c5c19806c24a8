# want: result_type
import re
