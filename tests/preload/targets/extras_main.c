/* The program of the library extras: in a library a weak reference is always left to the loader. */
int extras_main(int argc, char **argv);

int main(int argc, char **argv)
{
    return extras_main(argc, argv);
}
