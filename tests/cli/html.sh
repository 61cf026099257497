#!/bin/sh
# A page: its name, the same by export and annotate, what is refused.
lineburn html hot.pb.gz
head -n 1 lineburn.html
lineburn html hot.pb.gz -o x.html
cmp lineburn.html x.html && echo "the same"
lineburn export hot.pb.gz -o y.html && cmp x.html y.html && echo "the same by export"
lineburn annotate --format html hot.pb.gz | cmp - x.html && echo "the same by annotate"
lineburn html - -o - <hot.pb.gz | grep -c "</html>"
lineburn html --comm nothing hot.pb.gz -o none.html
echo "exit $?"
lineburn html --open hot.pb.gz -o -
echo "exit $?"
lineburn html hot.pb.gz -o no/x.html
echo "exit $?"
lineburn run --open -- true
echo "exit $?"
lineburn run --open -o x.pb.gz -- true
echo "exit $?"
lineburn record -a --window 1 -o x.html
echo "exit $?"
lineburn html nothing.pb.gz
