"""Worlds to attack: invented people from seeded NumPy generators, and real people where there are some.

hospital    patients in rows, a town of 400,000 with ZIP, birth date and sex, a voter list and admissions
ratings     films rated by viewers, with dates
mobility    phones at antennas, hour by hour
table       what an engine is given
adult       real people, from a file of the user's
movielens   real ratings, from a file of the user's; `given` reads the lines of both
"""
